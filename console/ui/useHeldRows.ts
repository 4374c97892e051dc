import { type FocusEvent, useEffect, useRef, useState, useSyncExternalStore } from 'react'

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

/** Further down than this, what comes in above would push away what is read. */
const SCROLLED_PX = 160

/** For whatever in a section is read while it has the focus. A switch beside it, once pressed, has the focus and is not. */
export const READ = { 'data-read': '' } as const

interface ReadHandlers {
  readonly onPointerEnter: () => void
  readonly onPointerLeave: () => void
  readonly onFocus: (event: FocusEvent) => void
  readonly onBlur: (event: FocusEvent) => void
}

interface Reading {
  readonly isRead: boolean
  /** For the section: the rows, and whatever the pointer passes on its way to what takes new ones in. */
  readonly handlers: ReadHandlers
}

/** Whether somebody reads in a section: points into it, has the focus in what is read, or, where that counts, has scrolled. */
export function useIsRead({ scrolling }: { scrolling: 'counts' | 'is-free' }): Reading {
  const [pointed, setPointed] = useState(false)
  const [focused, setFocused] = useState(false)
  const section = useRef<Element>(undefined)
  const scrolled = useSyncExternalStore(onScroll, () => scrollY > SCROLLED_PX)
  // A row or a button that is taken away takes the focus along, and no event tells of that.
  useEffect(() => {
    if (focused && !isReadIn(section.current, document.activeElement)) setFocused(false)
  })
  const handlers: ReadHandlers = {
    onPointerEnter: () => setPointed(true),
    onPointerLeave: () => setPointed(false),
    onFocus: ({ currentTarget, target }) => {
      section.current = currentTarget
      setFocused(isReadIn(currentTarget, target))
    },
    // On its way from one row to the next the focus has not left.
    onBlur: ({ currentTarget, relatedTarget }) => setFocused(isReadIn(currentTarget, relatedTarget)),
  }
  return { isRead: pointed || focused || (scrolling === 'counts' && scrolled), handlers }
}

const isReadIn = (section: Element | undefined, target: EventTarget | null): boolean =>
  target instanceof Element && section?.contains(target) === true && target.closest('[data-read]') !== null

function onScroll(listener: () => void): () => void {
  addEventListener('scroll', listener, { passive: true })
  return () => removeEventListener('scroll', listener)
}
