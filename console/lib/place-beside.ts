export interface Place {
  readonly side: 'top' | 'bottom'
  readonly align: 'start' | 'center' | 'end'
}

export interface Size {
  readonly width: number
  readonly height: number
}

interface Given {
  /** Of what it belongs to, in the window. */
  readonly beside: Size & { readonly left: number; readonly top: number }
  readonly size: Size
  readonly view: Size
  readonly direction: 'ltr' | 'rtl'
}

interface Placed {
  readonly left: number
  readonly top: number
  /** No higher than the room there is: the rest scrolls. */
  readonly heightMax: number
}

const GAP = 6
const MARGIN = 8

/** Where something opens beside what it belongs to: on its side while it has room there, and never beyond the window. */
export function placeBeside({ beside, size, view, direction }: Given, { side, align }: Place): Placed {
  const room = {
    top: beside.top - GAP - MARGIN,
    bottom: view.height - (beside.top + beside.height) - GAP - MARGIN,
  }
  const other = side === 'top' ? 'bottom' : 'top'
  const taken = size.height <= room[side] || room[side] >= room[other] ? side : other
  const heightMax = Math.max(0, room[taken])
  const height = Math.min(size.height, heightMax)
  const spare = beside.width - size.width
  const atEnd = direction === 'rtl' ? align === 'start' : align === 'end'
  const wished = beside.left + (align === 'center' ? spare / 2 : atEnd ? spare : 0)
  return {
    left: Math.max(MARGIN, Math.min(wished, view.width - MARGIN - size.width)),
    top: taken === 'top' ? beside.top - GAP - height : beside.top + beside.height + GAP,
    heightMax,
  }
}
