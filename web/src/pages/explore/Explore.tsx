import { useT } from "@/i18n";

export function Explore() {
  const t = useT();
  return <h1 className="p-4 text-lg font-semibold">{t("explore.title")}</h1>;
}
