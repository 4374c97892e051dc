import type { TestIssuer } from '../fakes/oidc-issuer.ts'
import { answerOf } from './send-chat.ts'
import type { TestServer } from './start-server.ts'

export const AUDIENCE = 'https://millrace.example.com'

/** Claims of GitHub Actions for a push to the main branch. */
export const PUSH = {
  sub: 'repo:acme/mill:ref:refs/heads/main',
  repository: 'acme/mill',
  repository_owner: 'acme',
  ref: 'refs/heads/main',
  head_ref: '',
  event_name: 'push',
  run_id: '4711',
  run_attempt: '1',
}

type Fields = Readonly<Record<string, string | readonly string[]>>

/** What a job sends to get its key. */
export async function exchange(server: TestServer, subjectToken: string, fields: Fields = {}) {
  const all = {
    grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
    subject_token_type: 'urn:ietf:params:oauth:token-type:id_token',
    subject_token: subjectToken,
    ...fields,
  }
  const pairs = Object.entries(all).flatMap(([name, value]) =>
    [value].flat().map((each) => [name, each] as [string, string]),
  )
  const response = await fetch(`http://127.0.0.1:${server.port}/oauth/token`, {
    method: 'POST',
    body: new URLSearchParams(pairs),
  })
  return answerOf(response)
}

/** A token of the issuer for a job, in the time of the server. */
export function jobToken(server: TestServer, issuer: TestIssuer, claims: object = {}): string {
  const seconds = Math.floor(server.app.operations.clock.now() / 1000)
  return issuer.issueToken({ aud: AUDIENCE, iat: seconds, nbf: seconds - 5, exp: seconds + 300, ...PUSH, ...claims })
}
