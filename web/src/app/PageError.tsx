import { useRouter, type ErrorComponentProps } from "@tanstack/react-router";
import { useT } from "@/i18n";
import { ErrorState } from "@/kit/states";

/** What a page that threw shows; leaving the page clears it. */
export function PageError(p: ErrorComponentProps) {
  const t = useT();
  const router = useRouter();
  return (
    <ErrorState
      title={t("kit.state.error.crash")}
      error={p.error instanceof Error ? p.error : new Error(String(p.error))}
      retry={() => {
        p.reset();
        void router.invalidate();
      }}
    />
  );
}

export function PageMissing() {
  const t = useT();
  return <p className="p-6 text-muted">{t("shell.missing")}</p>;
}
