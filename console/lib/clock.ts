import { useEffect, useState } from 'react'

/** The one reader of the time in the console. */
export const now = (): number => Date.now()

/** The time, anew every so often, for what counts down or grows old while somebody looks at it. */
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
