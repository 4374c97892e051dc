import { useState } from 'react'
import type { MadeKey } from './own-key.ts'

/**
 * The secret of a key that was just made, for as long as it is shown. This state is the only place that has it: not the
 * address, no storage, no cache, no toast.
 */
export function useMadeKey() {
  const [made, setMade] = useState<MadeKey | undefined>()
  return { made, show: setMade, drop: () => setMade(undefined) }
}
