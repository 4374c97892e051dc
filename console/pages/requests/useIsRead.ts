import { useState, useSyncExternalStore } from 'react'

/** Further down than this, what comes in above would push away what is read. */
const SCROLLED_PX = 160

/** Whether somebody reads in a list: points into it, has the focus in it, or has scrolled down; and how it gets to know. */
export function useIsRead() {
  const [pointed, setPointed] = useState(false)
  const [focused, setFocused] = useState(false)
  const scrolled = useSyncExternalStore(onScroll, () => scrollY > SCROLLED_PX)
  const handlers = {
    onPointerEnter: () => setPointed(true),
    onPointerLeave: () => setPointed(false),
    onFocus: () => setFocused(true),
    onBlur: () => setFocused(false),
  }
  return [pointed || focused || scrolled, handlers] as const
}

function onScroll(listener: () => void): () => void {
  addEventListener('scroll', listener, { passive: true })
  return () => removeEventListener('scroll', listener)
}
