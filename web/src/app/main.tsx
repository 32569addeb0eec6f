import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { ApiError } from "@/api/client";
import "@/theme/tokens.css";
import { router } from "./routes";

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      // a wrong question stays wrong; only trouble on the way is worth asking again
      retry: (failures, error) => failures < 2 && error instanceof ApiError && error.transient && error.code !== "starting",
      staleTime: 2000,
      gcTime: 60_000,
      refetchOnWindowFocus: false,
    },
  },
});

const root = document.getElementById("root");
if (root)
  createRoot(root).render(
    <StrictMode>
      <QueryClientProvider client={queries}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </StrictMode>,
  );
