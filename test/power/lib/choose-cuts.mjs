/** Long enough after something was seen for it to have been seen before the cut. */
const JUST_AFTER_MS = 0.001

/** In turn, so that each kind comes in the shortest run, too. */
const KINDS = [
  'reported',
  'write',
  'journal',
  'operator',
  'full',
  'sync',
  'checkpoint',
  'setup',
  'names',
  'restart',
  'keyring',
]

const JOURNAL_IS_WRITTEN = new Set(['write', 'sync-begin'])

/**
 * Moments at which the power is cut, oldest first: when a client or an operator has just been told something, when a write
 * or a sync has just begun, and where cuts at random seldom fall.
 */
export function chooseCuts({ records, paths, recording, random, count, kinds = KINDS }) {
  const { notes, facts, full, preparedAt, stoppingAt } = recording
  const timesOf = (test) => records.filter((record, index) => test(record, paths[index])).map(({ at }) => at)
  const writes = timesOf(({ kind }) => kind === 'write' || kind === 'truncate')
  const syncs = timesOf(({ kind }) => kind === 'sync-begin' || kind === 'sync-end')
  const after = (times) => times.map((at) => at + JUST_AFTER_MS)
  const reported = notes.flatMap(timesOfNews)
  const moments = {
    reported: after(reported),
    full: after(notes.flatMap(timeOfEnd).filter((at) => full.some(({ from, to }) => at > from && at < to))),
    operator: after(facts.map(({ confirmedAt }) => confirmedAt).filter(Number.isFinite)),
    write: after(writes),
    sync: after(syncs),
    checkpoint: after(timesOf(({ kind }, path) => kind === 'write' && path === 'data/ledger.db')),
    journal: after(
      timesOf(
        ({ kind, at }, path) => JOURNAL_IS_WRITTEN.has(kind) && path === 'data/settles.journal' && at > preparedAt,
      ),
    ),
    keyring: after(timesOf((_, path) => path?.startsWith('data/keyring.json'))),
    setup: after(records.map(({ at }) => at).filter((at) => at < preparedAt)),
    names: after(
      records.filter((_, index) => isOfNames(records[index]) || isOfNames(records[index - 1])).map(({ at }) => at),
    ),
    restart: after(records.map(({ at }) => at).filter((at) => at > stoppingAt)),
  }
  const cuts = Array.from({ length: count }, (_, index) => {
    const wanted = kinds[index % kinds.length]
    const kind = moments[wanted].length > 0 ? wanted : 'reported'
    return { kind, at: random.pick(moments[kind]), seed: random.below(2 ** 31) }
  })
  return cuts.sort((a, b) => a.at - b.at)
}

const timeOfEnd = ({ seen }) => seen.find(({ done }) => done)?.at ?? []

/** A name that was given or taken, e.g. of a file that is new. */
const isOfNames = (record) =>
  ['link', 'rename', 'unlink', 'mkdir'].includes(record?.kind) ||
  (record?.kind === 'open' && record.creates && !record.existed)

/** When a client saw the head, the first words, the usage and the end. */
function timesOfNews({ seen }) {
  const news = [
    ({ status }) => status !== undefined,
    ({ sizes }) => sizes.text > 0,
    ({ reported }) => reported !== undefined,
    ({ done, code }) => done || code !== undefined,
  ]
  return news.flatMap((isThere) => {
    const first = seen.find(isThere)
    return first ? [first.at] : []
  })
}
