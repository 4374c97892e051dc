import type { TurnEndpoint } from '../../turn/read/read-turn.ts'
import { sendProblem } from '../answer/send-problem.ts'
import { admitCaller } from '../door/authenticate.ts'
import type { Exchange } from '../exchange.ts'
import { postTurnAs } from '../v1/post-turn.ts'
import type { ConsoleDeps } from './console-deps.ts'
import { refuse, sendRefusal } from './console-refusal.ts'
import { type Asked, judgeAsker } from './judge-asker.ts'
import { findSignedIn, openAsking } from './open-asking.ts'
import type { Site } from './site.ts'

/** A map, because an object has more names than were given to it. */
const ENDPOINTS: ReadonlyMap<string, TurnEndpoint> = new Map([
  ['chat/completions', 'chat'],
  ['responses', 'responses'],
])

interface Played {
  readonly deps: ConsoleDeps
  readonly site: Site
  readonly endpoint: string
}

/** Who may ask a model here: whoever may act for an account. */
const PLAYER: Asked<'owner'> = { who: 'owner', confirmed: false }

/**
 * A turn like any other, asked by a session instead of a key: the account's own playground key pays, which no program can
 * hold. From here on nothing differs from what a client with a key meets.
 */
export async function servePlayground(exchange: Exchange, { deps, site, endpoint: named }: Played): Promise<void> {
  const { request } = exchange
  const endpoint = ENDPOINTS.get(named)
  if (endpoint === undefined) return sendRefusal(exchange, refuse('not_found', 'The playground has no such endpoint.'))
  if (request.method !== 'POST') return sendRefusal(exchange, refuse('method_not_allowed', 'Use POST.'))
  const asking = { ...openAsking(exchange, site), signedIn: await findSignedIn(exchange, deps, site) }
  const judged = judgeAsker(asking, PLAYER, exchange.edge.clock.now())
  if (judged.kind === 'refused') return sendRefusal(exchange, judged)
  const kind = request.headers['x-millrace-pays'] === 'builder' ? 'builder' : 'wallet'
  const who = admitCaller(exchange, await deps.findPlayer(judged.asking.account, kind))
  if (who.kind === 'refused') return sendProblem(exchange, who.problem)
  await postTurnAs(exchange, endpoint, who.caller)
}
