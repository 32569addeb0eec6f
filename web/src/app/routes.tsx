// Addresses and the pages behind them; each page is a chunk of its own.
import { createRootRoute, createRoute, createRouter, lazyRouteComponent } from "@tanstack/react-router";
import { parseSearch, stringifySearch, type Search } from "@/state/url";
import { PageError, PageMissing } from "./PageError";
import { Shell } from "./Shell";

const root = createRootRoute({
  component: Shell,
  validateSearch: (s: Record<string, unknown>): Search => s as Search,
  notFoundComponent: PageMissing,
});

const now = createRoute({ getParentRoute: () => root, path: "/", component: lazyRouteComponent(() => import("@/pages/now/Now"), "Now") });
const model = createRoute({ getParentRoute: () => root, path: "/models/$service/$model", component: lazyRouteComponent(() => import("@/pages/model/Model"), "Model") });
const hardware = createRoute({ getParentRoute: () => root, path: "/hardware", component: lazyRouteComponent(() => import("@/pages/hardware/Hardware"), "Hardware") });
const explore = createRoute({ getParentRoute: () => root, path: "/explore", component: lazyRouteComponent(() => import("@/pages/explore/Explore"), "Explore") });
const status = createRoute({ getParentRoute: () => root, path: "/status", component: lazyRouteComponent(() => import("@/pages/status/Status"), "Status") });

export const router = createRouter({
  routeTree: root.addChildren([now, model, hardware, explore, status]),
  parseSearch,
  stringifySearch,
  defaultErrorComponent: PageError,
  defaultPreload: "intent",
  scrollRestoration: false,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
