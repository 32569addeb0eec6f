import { useT } from "@/i18n";

export function Now() {
  const t = useT();
  return <h1 className="p-4 text-lg font-semibold">{t("now.title")}</h1>;
}
