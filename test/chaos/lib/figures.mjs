import { INVARIANTS } from './audit.mjs'

const sum = (values) => values.reduce((total, value) => total + value, 0)
const most = (values) => values.reduce((high, value) => Math.max(high, value), 0)

export const quantile = (values, share) =>
  [...values].sort((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))] ?? 0

/** The figures of a run, one a line: a run without them could have tested nothing. */
export function printFigures(figures, { kills, starts, pauses, stumbles, wrecks, actions, commits }) {
  const denied = Object.entries(figures.denied).sort(([a], [b]) => a.localeCompare(b))
  const over = figures.over.filter((tokens) => tokens > 0)
  const lines = {
    requests: figures.requests,
    'completions seen': figures.completed,
    'partial answers seen': figures.partial,
    'broken off by the provider after content': figures.failedInside,
    'hung up by the client': figures.aborted,
    'broken by a kill': figures.broken,
    denied: denied.map(([emitted, count]) => `${emitted}: ${count}`).join(', '),
    'idempotency keys': `${figures.keys}; ${figures.replays} answers given again, ${figures.reused} other bodies refused`,
    'kills, pauses, starts': `${kills}, ${pauses}, ${starts}; ${stumbles.all} more starts were killed, ${stumbles.inRecovery} in the middle of recovery`,
    'books read as a kill left them': `${wrecks.count}, with ${wrecks.open} open holds`,
    'acts of the operator': `${actions.credit} credits, ${actions.plan} changes of plan, ${actions.gap} ends and new beginnings, ${actions.cap} changes of a cap; ${actions.again} tried again because a kill cut them`,
    recovered: `${figures.recoveredFree} free, ${figures.recoveredCharged} charged`,
    'tokens delivered, charged': `${figures.deliveredTokens}, ${figures.chargedTokens}`,
    'under-charged after kills': `${sum(figures.under)} tokens in ${figures.under.filter(Boolean).length} of ${figures.under.length} answers, at most ${most(figures.under)} in one`,
    'first uncharged token before the kill': `median ${quantile(figures.forgivenMs, 0.5)} ms, 99 % within ${quantile(figures.forgivenMs, 0.99)} ms, at most ${most(figures.forgivenMs)} ms`,
    'last record before the kill': `median ${quantile(figures.stallMs, 0.5)} ms, at most ${most(figures.stallMs)} ms`,
    'under-charged after hang-ups': `${sum(figures.underAborted)} tokens in ${figures.underAborted.length} answers`,
    'charged and not seen': `${sum(over)} tokens in ${over.length} answers, at most ${most(over)} in one`,
    'estimated share of charges': `${((100 * figures.estimated) / Math.max(1, figures.settled)).toFixed(1)} %`,
    'shortfall nano': figures.shortfallNano,
    'commits of all lives': `${commits.commits}; operations in one: mean ${commits.batch.mean.toFixed(1)}, 99 % within ${commits.batch.p99}; ms: half within ${commits.commitMs.p50}, 99 % within ${commits.commitMs.p99}`,
    'memory in MB': `${commits.residentMb.first.toFixed(0)} in the first life, ${commits.residentMb.last.toFixed(0)} in the last, at most ${commits.residentMb.most.toFixed(0)}`,
  }
  for (const [name, value] of Object.entries(lines)) console.log(`${name}: ${value}`)
}

const SHOWN_OF_ONE = 10

export function printViolations(violations) {
  const counts = Object.keys(INVARIANTS).map((name) => [
    name,
    violations.filter(({ invariant }) => invariant === name).length,
  ])
  console.log(`violations ${violations.length} (${counts.map(([name, count]) => `${name} ${count}`).join(', ')})`)
  // Some of each: those of one cause must not hide the others.
  const shown = Object.keys(INVARIANTS).flatMap((name) =>
    violations.filter(({ invariant }) => invariant === name).slice(0, SHOWN_OF_ONE),
  )
  for (const { invariant, id, says } of shown) console.log(`  fail ${invariant} ${id} ${says}`)
  if (violations.length > shown.length) console.log(`  and ${violations.length - shown.length} more`)
}
