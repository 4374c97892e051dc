/**
 * What the clients had seen at one moment: of requests that were running then only what had come, as if the server had been
 * killed then. A copy of its books of that moment has to agree with it.
 */
export const notesAsOf = (notes, at) =>
  notes.filter(({ startedAt }) => startedAt <= at).map((note) => noteAsOf(note, at))

function noteAsOf(note, at) {
  if (note.endedAt <= at) return note
  const arrivals = note.arrivals.filter((arrival) => arrival.at <= at)
  const text = Buffer.from(note.text)
    .subarray(0, arrivals.at(-1)?.bytes ?? 0)
    .toString()
  const unseen = { status: undefined, code: undefined, reported: undefined, done: false, raw: '' }
  return { ...note, ...unseen, arrivals, text, ended: 'broken', endedAt: at }
}
