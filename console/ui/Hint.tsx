import { cloneElement, type FocusEvent, type PointerEvent, type ReactElement, useEffect, useRef, useState } from 'react'
import { keepBeside } from './keep-beside.ts'

/** A pointer that only passes by needs no words. */
const PATIENCE_MS = 400
/** Long enough to get from the child to its words, which stay while they are pointed at. */
const GRACE_MS = 120

export interface HintedProps {
  readonly onPointerEnter?: (event: PointerEvent<HTMLElement>) => void
  readonly onPointerLeave?: () => void
  readonly onPointerDown?: () => void
  readonly onFocus?: (event: FocusEvent<HTMLElement>) => void
  readonly onBlur?: () => void
}

interface HintProps {
  readonly text: string
  /** Something that has the same words for whoever listens, and hands what it is given to its element. */
  readonly children: ReactElement<HintedProps>
}

/** A few words about its child, on hover and on focus. Never the only place where something is said. */
export function Hint({ text, children }: HintProps) {
  const [beside, setBeside] = useState<HTMLElement>()
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  const later = (next: HTMLElement | undefined, ms: number) => {
    clearTimeout(timer.current)
    timer.current = setTimeout(() => setBeside(next), ms)
  }
  const hide = () => later(undefined, 0)
  useEffect(() => () => clearTimeout(timer.current), [])
  return (
    <>
      {cloneElement(children, {
        onPointerEnter: ({ pointerType, currentTarget }) => {
          if (pointerType !== 'touch') later(currentTarget, PATIENCE_MS)
        },
        onPointerLeave: () => later(undefined, GRACE_MS),
        onPointerDown: hide,
        onFocus: ({ currentTarget }) => {
          if (currentTarget.matches(':focus-visible')) later(currentTarget, 0)
        },
        onBlur: hide,
      })}
      {beside !== undefined && (
        <HintText
          text={text}
          beside={beside}
          onStay={() => later(beside, 0)}
          onLeave={() => later(undefined, GRACE_MS)}
          onHide={hide}
        />
      )}
    </>
  )
}

interface HintTextProps {
  readonly text: string
  readonly beside: HTMLElement
  readonly onStay: () => void
  readonly onLeave: () => void
  readonly onHide: () => void
}

function HintText({ text, beside, onStay, onLeave, onHide }: HintTextProps) {
  const shown = useRef<HTMLSpanElement>(null)
  const latest = useRef(onHide)
  useEffect(() => {
    latest.current = onHide
  })
  useEffect(() => {
    const element = shown.current
    if (element === null) return
    element.showPopover()
    const leave = keepBeside(element, beside, { side: 'top', align: 'center' })
    const press = (event: KeyboardEvent) => {
      if (event.key === 'Escape') latest.current()
    }
    addEventListener('keydown', press, true)
    return () => {
      leave()
      removeEventListener('keydown', press, true)
    }
  }, [beside])
  return (
    <span
      ref={shown}
      popover="manual"
      aria-hidden="true"
      onPointerEnter={onStay}
      onPointerLeave={onLeave}
      className="rise inset-auto m-0 max-w-xs rounded-md border-0 bg-ink px-2 py-1 text-start text-xs font-normal whitespace-normal text-paper"
    >
      {text}
    </span>
  )
}
