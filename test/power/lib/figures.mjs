import { INVARIANTS } from '../../chaos/lib/audit.mjs'

const SHOWN = 30
const sum = (values) => values.reduce((total, value) => total + value, 0)
const countOf = (cuts, test) => cuts.filter(test).length
const isWriting = (name) => (cut) => cut.unsynced.includes(`data/${name}`)

/** The figures of a run, one a line: a run without them could have tested nothing. */
export function printFigures({ recording, records, cuts }) {
  const of = (kind) => records.filter((record) => record.kind === kind).length
  const fates = (name) => sum(cuts.map(({ fate }) => fate[name]))
  const kinds = [...new Set(cuts.map(({ kind }) => kind))].sort()
  const judged = (name) => sum(cuts.map(({ figures }) => figures?.[name] ?? 0))
  const lines = {
    recorded: `${of('write')} writes, ${of('sync-end')} syncs, ${recording.notes.length} requests, ${recording.facts.length} operations`,
    'disk full': `${recording.full.length} times`,
    cuts: `${cuts.length}: ${kinds.map((kind) => `${countOf(cuts, (cut) => cut.kind === kind)} ${kind}`).join(', ')}`,
    'opened again': `${countOf(cuts, ({ variant }) => variant === 'command')} by a command, ${countOf(cuts, ({ variant }) => variant === 'server')} by a server, ${countOf(cuts, ({ variant }) => variant === 'twice')} after a second cut in recovery`,
    'cuts inside a commit': `${countOf(cuts, isWriting('ledger.db-wal'))} of the ledger, ${countOf(cuts, isWriting('content.db-wal'))} of the contents`,
    'cuts inside a checkpoint': `${countOf(cuts, isWriting('ledger.db'))} of the ledger, ${countOf(cuts, isWriting('content.db'))} of the contents`,
    'cuts inside a write of settles.journal': countOf(cuts, isWriting('settles.journal')),
    'cuts inside a rollback journal': countOf(cuts, ({ unsynced }) =>
      unsynced.some((path) => path.endsWith('-journal')),
    ),
    'writes not synced': `${fates('kept')} kept, ${fates('dropped')} dropped, ${fates('torn')} torn; ${fates('namesLost')} names lost`,
    'judged in all cuts': `${judged('completed')} completions, ${judged('partial')} partial answers, ${judged('aborted')} hang-ups, ${judged('keys')} idempotency keys, ${judged('replays')} answers given again`,
    recovered: `${judged('recoveredFree')} free, ${judged('recoveredCharged')} charged`,
    'shortfall nano': cuts.reduce((total, { figures }) => total + (figures?.shortfallNano ?? 0n), 0n),
  }
  for (const [name, value] of Object.entries(lines)) console.log(`${name}: ${value}`)
}

export function printViolations(violations) {
  const counts = Object.keys(INVARIANTS).map(
    (name) => `${name} ${countOf(violations, (one) => one.invariant === name)}`,
  )
  console.log(`violations ${violations.length} (${counts.join(', ')})`)
  for (const { invariant, id, says } of violations.slice(0, SHOWN)) console.log(`  ${invariant} ${id} ${says}`)
  if (violations.length > SHOWN) console.log(`  and ${violations.length - SHOWN} more`)
}

/** A run that saw none of these has proved nothing about them. */
export function checkCoverage({ cuts }, tally) {
  const judged = (name) => sum(cuts.map(({ figures }) => figures?.[name] ?? 0))
  const fates = (name) => sum(cuts.map(({ fate }) => fate[name]))
  const seen = {
    'cuts inside a commit': cuts.some(isWriting('ledger.db-wal')),
    'cuts inside a checkpoint': cuts.some(isWriting('ledger.db')),
    'cuts inside a write of settles.journal': cuts.some(isWriting('settles.journal')),
    'writes that were dropped, kept and torn': fates('dropped') > 0 && fates('kept') > 0 && fates('torn') > 0,
    'completions, partial answers and answers given again':
      judged('completed') >= 3 * cuts.length && judged('partial') > 0 && judged('replays') > 0,
    'recovered holds': judged('recoveredFree') + judged('recoveredCharged') > 0,
  }
  for (const [what, enough] of Object.entries(seen)) tally.check(enough, `the run had ${what}`)
}
