import { Outlet } from "@tanstack/react-router";
import { lazy, Suspense, useEffect, useState } from "react";
import { onTokenMissing } from "@/api/client";
import { useT } from "@/i18n";
import { Banners } from "./Banners";
import { Header } from "./header/Header";
import { Rail } from "./Rail";
import { Shortcuts } from "./Shortcuts";
import { Ticker } from "./Ticker";
import { Title } from "./Title";

const Palette = lazy(() => import("./overlays/Palette"));
const ShortcutSheet = lazy(() => import("./overlays/ShortcutSheet"));
const Login = lazy(() => import("./overlays/Login"));

type Overlay = "palette" | "help" | "login" | null;

/** Everything around a page. */
export function Shell() {
  const t = useT();
  const [overlay, setOverlay] = useState<Overlay>(null);
  useEffect(() => onTokenMissing(() => setOverlay("login")), []);
  const close = () => setOverlay(null);
  return (
    <div className="flex h-full">
      <a href="#page" className="sr-only z-50 bg-raised px-3 py-1 focus:not-sr-only focus:absolute">
        {t("shell.skip")}
      </a>
      <Ticker />
      <Title />
      <Shortcuts openPalette={() => setOverlay((o) => (o === "login" ? o : o === "palette" ? null : "palette"))} openHelp={() => setOverlay((o) => (o === "login" ? o : "help"))} />
      <Rail />
      <div className="flex min-w-0 flex-1 flex-col">
        <Header />
        <Banners />
        <main id="page" tabIndex={-1} className="min-h-0 min-w-0 flex-1 overflow-auto focus-visible:outline-none">
          <Outlet />
        </main>
      </div>
      <Suspense fallback={null}>
        {overlay === "palette" && <Palette close={close} />}
        {overlay === "help" && <ShortcutSheet close={close} />}
        {overlay === "login" && <Login close={close} />}
      </Suspense>
    </div>
  );
}
