import { useLocation, useParams } from "@tanstack/react-router";
import { useEffect } from "react";
import { useStatus } from "@/api/useApi";
import { useT } from "@/i18n";
import { pages } from "./pages";

/** Tab title: what is open, and how many errors the product reports. */
export function Title() {
  const t = useT();
  const { pathname } = useLocation();
  const params: { service?: string; model?: string } = useParams({ strict: false });
  const errors = (useStatus().data?.data.conditions ?? []).filter((c) => c.severity === "error").length;
  const page = pages.find((p) => p.path === pathname);
  const what = params.model !== undefined ? `${params.service}/${params.model}` : page ? t(page.words) : "";
  useEffect(() => {
    document.title = `${errors > 0 ? `(${errors}) ` : ""}${what ? `${what} · ` : ""}${t("shell.product")}`;
  }, [errors, what, t]);
  return null;
}
