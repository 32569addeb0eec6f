// Words for machine codes that the API sends: code.<code>.text and .remedy.
export const codes = {
  "code.triton_no_summaries.text": "This Triton server does not export latency summaries, so only the mean is known.",
  "code.triton_no_summaries.remedy": "Start Triton with --metrics-config summary_latencies=true.",
  "code.token_missing.text": "This server asks for a token.",
  "code.token_missing.remedy": "Sign in with the console token.",
} as const;
