import { sendProblem } from '../answer/send-problem.ts'
import type { Exchange } from '../exchange.ts'
import { withoutOrigin } from '../request-target.ts'
import type { ConsoleDeps } from './console-deps.ts'
import { refuse, sendRefusal } from './console-refusal.ts'
import { findSignedIn, openAsking } from './open-asking.ts'
import { readSmallBody } from './read-small-body.ts'
import { sendAnswer } from './send-answer.ts'
import type { Site } from './site.ts'

/** What the console asks: taken in here, and then handed to the routes. */
export async function serveApi(exchange: Exchange, deps: ConsoleDeps, site: Site): Promise<void> {
  const asking = openAsking(exchange, site)
  const body = asking.changes ? await readSmallBody(exchange) : undefined
  // An answer that nobody waits for is owed all the same: until it ends, nothing else would ever close this connection.
  if (body?.kind === 'gone') return void exchange.response.destroy()
  if (body?.kind === 'broken') return sendProblem(exchange, body.problem)
  if (body?.kind === 'too-large') {
    return sendRefusal(exchange, refuse('body_too_large', 'No form of the console is as large as this.'))
  }
  const signedIn = await findSignedIn(exchange, deps, site)
  const answer = await deps.api.fetch(requestOf(exchange, site, body?.bytes), { ...asking, signedIn })
  await sendAnswer(exchange, answer)
}

/** Of its headers the routes read one. */
function requestOf({ request }: Exchange, site: Site, body: Buffer | undefined): Request {
  const type = request.headers['content-type']
  const hasBody = body !== undefined && body.length > 0
  return new Request(site.origin + withoutOrigin(request.url ?? '/'), {
    method: request.method ?? 'GET',
    headers: type === undefined ? {} : { 'content-type': type },
    ...(hasBody && { body: new Uint8Array(body) }),
  })
}
