const sum = (values) => values.reduce((total, value) => total + value, 0)
const most = (values) => values.reduce((high, value) => Math.max(high, value), 0)

export const quantile = (values, share) =>
  [...values].sort((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))] ?? 0

/** The figures of a run, one a line: a run without them could have tested nothing. */
export function printFigures(figures, { kills, starts, stumbles, credits, cut, commits }) {
  const denied = Object.entries(figures.denied).map(([status, count]) => `${status}: ${count}`)
  const over = figures.over.filter((tokens) => tokens > 0)
  const lines = {
    requests: figures.requests,
    'completions seen': figures.completed,
    'partial answers seen': figures.partial,
    'hung up by the client': figures.aborted,
    'broken by a kill': figures.broken,
    denied: denied.join(', '),
    'kills, starts': `${kills}, ${starts}; ${stumbles.all} more starts were killed, ${stumbles.inRecovery} in the middle of recovery`,
    credits: `${credits}, ${cut} tried again because a kill cut them`,
    recovered: `${figures.recoveredFree} free, ${figures.recoveredCharged} charged`,
    'tokens delivered, charged': `${figures.deliveredTokens}, ${figures.chargedTokens}`,
    'under-charged after kills': `${sum(figures.under)} tokens in ${figures.under.filter(Boolean).length} of ${figures.under.length} answers, at most ${most(figures.under)} in one`,
    'first uncharged token before the kill': `median ${quantile(figures.forgivenMs, 0.5)} ms, 99 % within ${quantile(figures.forgivenMs, 0.99)} ms, at most ${most(figures.forgivenMs)} ms`,
    'under-charged after hang-ups': `${sum(figures.underAborted)} tokens in ${figures.underAborted.length} answers`,
    'charged and not seen': `${sum(over)} tokens in ${over.length} answers, at most ${most(over)} in one`,
    'estimated share of charges': `${((100 * figures.estimated) / Math.max(1, figures.settled)).toFixed(1)} %`,
    'shortfall nano': figures.shortfallNano,
    'commits of the last life': commits && describeCommits(commits),
    'memory of the last server': commits && `${commits.residentMb.toFixed(0)} MB`,
  }
  for (const [name, value] of Object.entries(lines)) if (value !== undefined) console.log(`${name}: ${value}`)
}

const describeCommits = ({ commits, batchMean, commitMs }) =>
  `${commits}, ${batchMean.toFixed(1)} operations each; ${commitMs.mean.toFixed(1)} ms mean, 99 % within ${commitMs.p99} ms`

const SHOWN = 30

export function printViolations(violations) {
  console.log(`violations ${violations.length}`)
  for (const { invariant, id, says } of violations.slice(0, SHOWN)) console.log(`  ${invariant} ${id} ${says}`)
  if (violations.length > SHOWN) console.log(`  and ${violations.length - SHOWN} more`)
}
