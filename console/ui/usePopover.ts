import {
  type MouseEvent,
  type RefObject,
  type ToggleEvent,
  useEffect,
  useId,
  useLayoutEffect,
  useRef,
  useState,
} from 'react'
import type { Place } from '../lib/place-beside.ts'
import { keepBeside } from './keep-beside.ts'

/** What a trigger carries: a button, or whatever hands these on to its button. */
export interface TriggerProps {
  readonly popoverTarget?: string
  readonly 'aria-expanded'?: boolean
  readonly 'aria-haspopup'?: 'menu' | 'dialog'
  readonly onClick?: (event: MouseEvent<HTMLElement>) => void
}

interface PopoverParts {
  readonly open: boolean
  readonly show: (trigger: HTMLElement) => void
  /** Closes it and gives the focus back to its trigger. */
  readonly close: () => void
  readonly trigger: TriggerProps
  readonly layer: {
    readonly ref: RefObject<HTMLDivElement | null>
    readonly id: string
    readonly popover: 'auto'
    readonly tabIndex: -1
    readonly onToggle: (event: ToggleEvent) => void
  }
}

/**
 * Something that a button opens beside itself, in the browser's top layer: above every dialog without hanging elsewhere, and
 * closed by Esc or by whatever is pressed beside it. The focus goes into it when it opens.
 */
export function usePopover(place: Place, haspopup: 'menu' | 'dialog'): PopoverParts {
  const id = useId()
  const layer = useRef<HTMLDivElement>(null)
  const beside = useRef<HTMLElement>(undefined)
  const [open, setOpen] = useState(false)
  const { side, align } = place

  useLayoutEffect(() => {
    const element = layer.current
    if (!open || element === null || beside.current === undefined) return
    element.showPopover()
    const leave = keepBeside(element, beside.current, { side, align })
    return () => {
      leave()
      element.hidePopover()
    }
  }, [open, side, align])
  useEffect(() => {
    const element = layer.current
    if (!open || element === null) return
    const first = element.querySelector<HTMLElement>('button:not(:disabled), a[href]') ?? element
    first.focus({ preventScroll: true })
  }, [open])

  const show = (trigger: HTMLElement) => {
    beside.current = trigger
    setOpen(true)
  }
  const close = () => {
    beside.current?.focus()
    setOpen(false)
  }
  return {
    open,
    show,
    close,
    trigger: {
      // It names the layer so that pressing the button again is not a press beside it; opening and closing stay ours.
      popoverTarget: id,
      'aria-expanded': open,
      'aria-haspopup': haspopup,
      onClick: (event) => {
        event.preventDefault()
        if (open) close()
        else show(event.currentTarget)
      },
    },
    layer: { ref: layer, id, popover: 'auto', tabIndex: -1, onToggle: ({ newState }) => setOpen(newState === 'open') },
  }
}
