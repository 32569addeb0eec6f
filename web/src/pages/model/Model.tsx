import { useT } from "@/i18n";

export function Model() {
  const t = useT();
  return <h1 className="p-4 text-lg font-semibold">{t("model.title")}</h1>;
}
