/**
 * Every series we publish. The two of the OpenTelemetry GenAI conventions keep those names in Prometheus spelling (dots
 * become underscores, the unit is a suffix), so that ready-made dashboards find them; what has no such name is ours.
 */
export const METRIC = {
  requests: 'millrace_http_requests_total',
  turns: 'millrace_turns_total',
  tokens: 'millrace_tokens_total',
  charged: 'millrace_charged_nano_usd_total',
  shortfall: 'millrace_shortfall_nano_usd_total',
  estimateError: 'millrace_estimate_error_ratio',
  laneAttempts: 'millrace_lane_attempts_total',
  failovers: 'millrace_failovers_total',
  lanesAside: 'millrace_lanes_aside',
  reloadRefused: 'millrace_config_reload_refused',
  turnsRunning: 'millrace_turns_running',
  memoryUsed: 'millrace_memory_budget_used_bytes',
  memoryMax: 'millrace_memory_budget_bytes',
  queueLength: 'millrace_queue_length',
  strained: 'millrace_event_loop_strained',
  shed: 'millrace_shed_total',
  holdsOpen: 'millrace_holds_open',
  holdsRecovered: 'millrace_holds_recovered_total',
  violations: 'millrace_ledger_violations',
  auditedAt: 'millrace_ledger_audited_timestamp_seconds',
  auditRows: 'millrace_audit_trail_rows',
  auditHead: 'millrace_audit_trail_head',
  batchOperations: 'millrace_ledger_batch_operations',
  commitSeconds: 'millrace_ledger_commit_seconds',
  turnSeconds: 'gen_ai_server_request_duration_seconds',
  firstByteSeconds: 'gen_ai_server_time_to_first_token_seconds',
} as const

export const GEN_AI_MODEL = 'gen_ai_request_model'

/** The buckets that the conventions ask for: 0.01 s, doubled up to 81.92 s. */
export const GEN_AI_SECONDS = Array.from({ length: 14 }, (_, step) => 0.01 * 2 ** step)

/** How far an estimated charge would have been from the true one: -0.1 is a tenth too little. */
export const ERROR_RATIOS = [-0.5, -0.3, -0.2, -0.1, -0.05, 0, 0.05, 0.1, 0.2, 0.3, 0.5, 1, 2]
