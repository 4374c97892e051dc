import { type FocusEvent, useEffect, useRef, useState, useSyncExternalStore } from 'react'

interface HeldRows<Row> {
  readonly shown: readonly Row[]
  /** Rows that are not shown yet. */
  readonly waiting: number
  readonly takeIn: () => void
  readonly reading: ReadHandlers
}

interface Held<Row> {
  readonly idOf: (row: Row) => string
  /** `counts`: a scrolled page counts as reading. That can last, so the caller needs a button for the waiting rows. */
  readonly scrolling?: 'counts' | 'is-free'
}

/** Live rows, newest first, that do not move while the user reads them. */
export function useHeldRows<Row>(rows: readonly Row[], { idOf, scrolling = 'is-free' }: Held<Row>): HeldRows<Row> {
  const { isRead, handlers } = useIsRead({ scrolling })
  // Joined to one string so that equal rows do not cause an update.
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

/** Holds back the rows above the first known one. If no known row is left, shows all. */
export function holdBack<Row>(
  rows: readonly Row[],
  idOf: (row: Row) => string,
  seen: ReadonlySet<string> | undefined,
): HeldBack<Row> {
  const first = seen === undefined ? 0 : rows.findIndex((row) => seen.has(idOf(row)))
  return first <= 0 ? { shown: rows, waiting: 0 } : { shown: rows.slice(first), waiting: first }
}

/** From this scroll position on, new rows would push away what the user reads. */
const SCROLLED_PX = 160

/** Marks elements whose focus counts as reading. A switch beside the rows does not. */
export const READ = { 'data-read': '' } as const

interface ReadHandlers {
  readonly onPointerEnter: () => void
  readonly onPointerLeave: () => void
  readonly onFocus: (event: FocusEvent) => void
  readonly onBlur: (event: FocusEvent) => void
}

interface Reading {
  readonly isRead: boolean
  /** Handlers for the section that contains the rows. */
  readonly handlers: ReadHandlers
}

/** True while the pointer is in the section, the focus is in its rows or, if that counts, the page is scrolled. */
export function useIsRead({ scrolling }: { scrolling: 'counts' | 'is-free' }): Reading {
  const [pointed, setPointed] = useState(false)
  const [focused, setFocused] = useState(false)
  const section = useRef<Element>(undefined)
  const scrolled = useSyncExternalStore(onScroll, () => scrollY > SCROLLED_PX)
  // A removed row takes the focus along without an event.
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
    // Moving between two rows keeps the focus inside.
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
