import { useQueryClient } from "@tanstack/react-query";
import { useState, type FormEvent } from "react";
import { ApiError } from "@/api/client";
import { login } from "@/api/sightline";
import { codeWords, useT } from "@/i18n";
import { Sheet } from "./Sheet";

/** Asked for when the server answers that a token is missing. */
export default function Login(p: { close: () => void }) {
  const t = useT();
  const client = useQueryClient();
  const [token, setToken] = useState("");
  const [error, setError] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const submit = async (e: FormEvent) => {
    e.preventDefault();
    setBusy(true);
    try {
      await login(token.trim());
      p.close();
      await client.resetQueries();
    } catch (err) {
      setError(err instanceof ApiError ? (codeWords(t, err.code, "text", err.message) ?? err.message) : String(err));
    } finally {
      setBusy(false);
    }
  };
  return (
    <Sheet label={t("shell.login.title")} close={p.close} className="w-96" stay>
      <form onSubmit={(e) => void submit(e)} className="flex flex-col gap-3 p-5" data-state="login">
        <h2 className="text-lg font-semibold">{t("shell.login.title")}</h2>
        <p className="text-muted">{t("shell.login.body")}</p>
        <label className="flex flex-col gap-1 text-xs text-muted">
          {t("shell.login.token")}
          <input autoFocus type="password" autoComplete="current-password" value={token} onChange={(e) => setToken(e.target.value)} className="h-8 rounded-md border border-line-strong bg-sunken px-2 font-mono text-text" />
        </label>
        {error && (
          <p role="alert" className="text-bad">
            {error}
          </p>
        )}
        <button type="submit" disabled={busy || token.trim() === ""} className="h-8 rounded-md bg-accent font-medium text-on-accent disabled:opacity-50">
          {t("shell.login.submit")}
        </button>
      </form>
    </Sheet>
  );
}
