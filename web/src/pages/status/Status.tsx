import { useT } from "@/i18n";

export function Status() {
  const t = useT();
  return <h1 className="p-4 text-lg font-semibold">{t("status.title")}</h1>;
}
