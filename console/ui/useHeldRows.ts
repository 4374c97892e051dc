import { useEffect, useState } from 'react'
import { type ReadHandlers, useIsRead } from './useIsRead.ts'

interface HeldRows<Row> {
  readonly shown: readonly Row[]
  /** New ones that are not shown yet. */
  readonly waiting: number
  readonly takeIn: () => void
  readonly reading: ReadHandlers
}

interface Held<Row> {
  readonly idOf: (row: Row) => string
  /** `counts`: whoever has scrolled down reads. That needs a button for what waits, as it can last. */
  readonly scrolling?: 'counts' | 'is-free'
}

/** Rows that come by themselves, newest first: none of them moves under the pointer or the focus of somebody who reads. */
export function useHeldRows<Row>(rows: readonly Row[], { idOf, scrolling = 'is-free' }: Held<Row>): HeldRows<Row> {
  const { isRead, handlers } = useIsRead({ scrolling })
  // As one text, so that the same rows once more are no change.
  const ids = rows.map(idOf).join('\n')
  const [known, setKnown] = useState(ids)
  useEffect(() => {
    if (!isRead) setKnown(ids)
  }, [isRead, ids])
  const held = isRead ? new Set(known.split('\n')) : undefined
  return { ...holdBack(rows, idOf, held), takeIn: () => setKnown(ids), reading: handlers }
}

interface HeldBack<Row> {
  readonly shown: readonly Row[]
  readonly waiting: number
}

/** Rows above the first that somebody already sees wait until they may come in. Where none of those is left, nothing waits. */
export function holdBack<Row>(
  rows: readonly Row[],
  idOf: (row: Row) => string,
  seen: ReadonlySet<string> | undefined,
): HeldBack<Row> {
  const first = seen === undefined ? 0 : rows.findIndex((row) => seen.has(idOf(row)))
  return first <= 0 ? { shown: rows, waiting: 0 } : { shown: rows.slice(first), waiting: first }
}
