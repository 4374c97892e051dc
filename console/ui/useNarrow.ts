import { useSyncExternalStore } from 'react'

const QUERY = '(max-width: 47.99rem)'

function subscribe(listener: () => void): () => void {
  const media = matchMedia(QUERY)
  media.addEventListener('change', listener)
  return () => media.removeEventListener('change', listener)
}

/** Whether the window is too narrow for tables: a telephone, or a desktop at 200 %. */
export const useNarrow = (): boolean => useSyncExternalStore(subscribe, () => matchMedia(QUERY).matches)
