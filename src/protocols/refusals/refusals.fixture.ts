import { type ProviderError, readError, readProviderError } from './provider-error.ts'

/** As it comes with a status. */
export const read = (status: number | undefined, body: unknown): ProviderError =>
  readProviderError(status, Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)))

/** As it stands inside an answer of 200. */
export const inside = (error: unknown): ProviderError => {
  const said = readError(error)
  return { ...said, status: undefined, param: said.param }
}

export const anthropic = (type: string, message = 'No.') => ({
  type: 'error',
  error: { type, message },
  request_id: 'req_011',
})
export const google = (code: number, status: string, message = 'No.', details: object[] = []) => ({
  error: { code, message, status, details },
})
export const reason = (word: string) => ({
  '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
  reason: word,
  domain: 'googleapis.com',
})
export const TOO_LOW =
  'Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.'
export const SPENT =
  'You have reached your specified API usage limits. You will regain access on 2026-12-01 at 00:00 UTC.'
export const HTML = '<!doctype html><html><body>nginx</body></html>'

export const FASTAPI = {
  detail: [{ type: 'missing', loc: ['body', 'messages', 0, 'role'], msg: 'Field required', input: {} }],
}
