import { type Place, placeBeside } from '../lib/place-beside.ts'

export const directionOf = (element: Element): 'ltr' | 'rtl' =>
  getComputedStyle(element).direction === 'rtl' ? 'rtl' : 'ltr'

/** Puts what is shown in the top layer beside what it belongs to, also while the page scrolls, until what is returned is called. */
export function keepBeside(shown: HTMLElement, beside: Element, place: Place): () => void {
  const put = () => {
    shown.style.maxBlockSize = ''
    const size = { width: shown.offsetWidth, height: shown.offsetHeight }
    const view = { width: document.documentElement.clientWidth, height: innerHeight }
    const given = { beside: beside.getBoundingClientRect(), size, view, direction: directionOf(beside) }
    const { left, top, heightMax } = placeBeside(given, place)
    shown.style.left = `${left}px`
    shown.style.top = `${top}px`
    shown.style.maxBlockSize = `${heightMax}px`
  }
  put()
  const away = new AbortController()
  for (const event of ['scroll', 'resize'])
    addEventListener(event, put, { capture: true, passive: true, signal: away.signal })
  return () => away.abort()
}
