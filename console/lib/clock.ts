import { useEffect, useState } from 'react'

/** The only place in the console that reads the time. */
export const now = (): number => Date.now()

/** The current time, updated at an interval while the page is visible. */
export function useNow(everyMs = 30_000): number {
  const [time, setTime] = useState(now)
  useEffect(() => {
    const tick = setInterval(() => {
      if (!document.hidden) setTime(now())
    }, everyMs)
    return () => clearInterval(tick)
  }, [everyMs])
  return time
}
