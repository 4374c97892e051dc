import { type RefObject, useEffect, useRef } from 'react'

/** How far from the end somebody may be and still want to see what comes. */
const NEAR_PX = 120

/** Keeps the end in sight while it moves away, unless somebody has scrolled up to read. */
export function useStayAtEnd(moving: unknown): RefObject<HTMLDivElement | null> {
  const end = useRef<HTMLDivElement>(null)
  const near = useRef(true)
  useEffect(() => {
    const look = () => {
      near.current = document.documentElement.scrollHeight - innerHeight - scrollY < NEAR_PX
    }
    addEventListener('scroll', look, { passive: true })
    return () => removeEventListener('scroll', look)
  }, [])
  useEffect(() => {
    if (moving !== undefined && near.current) end.current?.scrollIntoView({ block: 'end' })
  }, [moving])
  return end
}
