import { useEffect, useState } from "react";
import { useT } from "@/i18n";
import { Button } from "./basics";

/** Copies without a toast: the button itself says so for a moment. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // no clipboard permission, or plain http on another host: the old way
    const area = document.createElement("textarea");
    area.value = text;
    area.className = "fixed opacity-0";
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}

export function CopyButton(p: { text: string | (() => string); label?: string }) {
  const t = useT();
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return;
    const id = setTimeout(() => setCopied(false), 1500);
    return () => clearTimeout(id);
  }, [copied]);
  return (
    <Button onPress={() => void copyText(typeof p.text === "string" ? p.text : p.text()).then(setCopied)}>
      {copied ? t("kit.copied") : (p.label ?? t("kit.copy"))}
    </Button>
  );
}
