/** Clients that get some errors in another form, because of how they were measured to react: `docs/clients/broken-streams.md`. */
export type ClientProgram = 'codex' | 'opencode'

type Headers = Readonly<Record<string, string | readonly string[] | undefined>>

/** Recognised by their headers: `codex_exec`, `codex_cli_rs` and `codex_vscode` are all Codex. */
export function findClientProgram(headers: Headers): ClientProgram | undefined {
  if (/^codex/.test(String(headers.originator ?? ''))) return 'codex'
  return /^opencode\//.test(String(headers['user-agent'] ?? '')) ? 'opencode' : undefined
}
