import { type FocusEvent, useEffect, useRef, useState, useSyncExternalStore } from 'react'

/** Further down than this, what comes in above would push away what is read. */
const SCROLLED_PX = 160

/** For whatever in a section is read while it has the focus. A switch beside it, once pressed, has the focus and is not. */
export const READ = { 'data-read': '' } as const

export interface ReadHandlers {
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
