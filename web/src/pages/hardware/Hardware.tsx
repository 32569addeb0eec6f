import { useT } from "@/i18n";

export function Hardware() {
  const t = useT();
  return <h1 className="p-4 text-lg font-semibold">{t("hardware.title")}</h1>;
}
