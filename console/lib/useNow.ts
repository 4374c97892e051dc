import { useEffect, useState } from 'react'
import { now } from './clock.ts'

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
