import { GIVEN_UP_FROM_MINUTES } from './clients.mjs'

/** What ran, by kind, and how it ended. */
export function printDelivered({ kinds, ends, codes, started, replays }, minutes) {
  console.log(`\n${started} requests, ${(started / minutes / 60).toFixed(1)} a second; ${replays} answers given again`)
  for (const [what, counts] of Object.entries({ kinds, ends, codes })) {
    const sorted = Object.entries(counts).sort(([a], [b]) => a.localeCompare(b))
    console.log(`${what}: ${sorted.map(([name, number]) => `${name} ${number}`).join(', ')}`)
  }
}

/** A run that saw none of these has proved nothing about them. */
export function checkCoverage(tally, { kinds, ends, codes, started, replays }, { streams, minutes }) {
  const roads = ['relayed', 'translated', 'faulty-chat', 'faulty-anthropic', 'backed']
  const all = ['chat', 'responses'].flatMap((protocol) =>
    ['stream', 'json'].flatMap((delivery) => roads.map((route) => `${protocol} ${delivery} ${route}`)),
  )
  const missing = all.filter((kind) => !kinds[kind])
  const seen = {
    [`every protocol, delivery and road (${missing.join(', ') || 'none missing'})`]: missing.length === 0,
    'three whole answers of four': ends.whole >= 0.75 * started,
    'requests for all of its clients': started > streams,
    'hang-ups': ends.aborted > 0,
    'clients that never read': kinds['never reads'] > 0,
    'clients that the server gave up': minutes < GIVEN_UP_FROM_MINUTES || ends['never read: givenUp'] > 0,
    'answers that broke off inside': ends.failed > 0,
    'refusals for want of money': codes.insufficient_balance > 0,
    'keys of both kinds': kinds['wallet key'] > 0 && kinds['builder key'] > 0,
    'calls of tools': kinds['tool call'] > 0,
    'answers given again': replays > 0,
    'stored responses read, deleted and continued': ['get', 'delete', 'continue'].every(
      (what) => kinds[`stored response: ${what}`] > 0,
    ),
  }
  for (const [what, enough] of Object.entries(seen)) tally.check(enough === true, `the load had ${what}`)
}
