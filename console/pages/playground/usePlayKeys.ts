import { useEffect, useRef } from 'react'

interface PlayKeys {
  readonly running: boolean
  readonly onSend: () => void
  readonly onStop: () => void
}

/** Ctrl+Enter sends from wherever one writes, Esc stops. */
export function usePlayKeys(keys: PlayKeys): void {
  const latest = useRef(keys)
  useEffect(() => {
    latest.current = keys
  })
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.defaultPrevented || document.querySelector('dialog[open]') !== null) return
      const { running, onSend, onStop } = latest.current
      if (event.key === 'Escape' && running) onStop()
      if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return
      event.preventDefault()
      // A form, such as that for the results of calls, is sent as it is.
      const form = event.target instanceof Element ? event.target.closest('form') : null
      if (form === null) onSend()
      else form.requestSubmit()
    }
    addEventListener('keydown', press)
    return () => removeEventListener('keydown', press)
  }, [])
}
