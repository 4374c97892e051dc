import { type RefObject, useLayoutEffect, useRef, useState } from 'react'

/** How wide an element is, now and after every change: charts are drawn in real pixels, so that text keeps its size. */
export function useWidth<Shape extends Element>(): [RefObject<Shape | null>, number] {
  const element = useRef<Shape>(null)
  const [width, setWidth] = useState(0)
  useLayoutEffect(() => {
    if (element.current === null) return
    const measure = (entry: Element) => setWidth(Math.round(entry.getBoundingClientRect().width))
    measure(element.current)
    const observer = new ResizeObserver(([entry]) => entry && measure(entry.target))
    observer.observe(element.current)
    return () => observer.disconnect()
  }, [])
  return [element, width]
}
