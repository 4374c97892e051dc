import { EXIT, type KeyStanding, type KeyStandingOutcome } from '../cli/cli-services.ts'
import type { Environment } from '../config/files.ts'

/** A status line that waits longer is worse than none. */
const WITHIN_MS = 5000

/** Asks a server over its API, as any client: the command runs where an agent runs, far from the data folder. */
export async function readKeyStanding(
  environment: Environment,
  given: string | undefined,
): Promise<KeyStandingOutcome> {
  const key = environment.MILLRACE_KEY || environment.OPENAI_API_KEY
  if (!key) return failed(EXIT.usage, 'There is no API key. Set MILLRACE_KEY (or OPENAI_API_KEY) to one.')
  const base = given ?? (environment.OPENAI_BASE_URL || 'http://127.0.0.1:4600/v1')
  if (!URL.canParse(base)) return failed(EXIT.usage, `${base} is not a URL such as http://127.0.0.1:4600/v1.`)
  try {
    const url = `${base.replace(/\/+$/, '')}/key`
    const headers = { authorization: `Bearer ${key}` }
    const answer = await fetch(url, { headers, signal: AbortSignal.timeout(WITHIN_MS) })
    const text = await answer.text()
    const body = parse(text) as { object?: string; error?: { message?: string } } | undefined
    if (answer.ok && body?.object === 'key') return { kind: 'read', standing: body as unknown as KeyStanding }
    const said =
      body?.error?.message ?? 'It does not answer like Millrace. Give the base URL that clients use, with /v1.'
    return failed(EXIT.failure, `${url}: ${answer.status}. ${said}`)
  } catch (error) {
    const cause = (error as Error).cause as NodeJS.ErrnoException | undefined
    const why = cause?.code ?? (error as Error).message
    return failed(EXIT.remoteFailed, `${base} cannot be reached (${why}). Check --url, and that the server runs.`)
  }
}

const failed = (exit: (typeof EXIT)[keyof typeof EXIT], message: string): KeyStandingOutcome => ({
  kind: 'failed',
  exit,
  message,
})

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
