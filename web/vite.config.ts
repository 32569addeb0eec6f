import { fileURLToPath } from "node:url";
import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";
import { mockServer } from "./mock/plugin.ts";

// SIGHTLINE_URL points `npm run dev` at a running server; without it the mock answers.
const upstream = process.env.SIGHTLINE_URL;
const proxied = ["/api", "/readyz", "/healthz", "/federate", "/metrics"];

export default defineConfig({
  plugins: [react(), tailwindcss(), ...(upstream ? [] : [mockServer()])],
  resolve: { alias: { "@": fileURLToPath(new URL("./src", import.meta.url)) } },
  test: {
    include: ["src/**/*.test.{ts,tsx}", "tests/**/*.test.ts", "mock/**/*.test.ts"],
    // two fixed zones would hide bugs of a third: tests that need a zone say so
    env: { TZ: "Asia/Shanghai" },
    restoreMocks: true,
  },
  server: upstream
    ? { proxy: Object.fromEntries(proxied.map((p) => [p, { target: upstream, changeOrigin: true }])) }
    : {},
  build: {
    outDir: "dist",
    emptyOutDir: true,
    target: "es2022",
    // Inlined assets would be data: addresses, which the server's CSP refuses.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // `npm run size` is the gate: gzip of what the first page loads
    chunkSizeWarningLimit: 1000,
  },
});
