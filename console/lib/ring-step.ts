interface Ring {
  readonly at: number
  readonly count: number
  /** Which arrows walk it. */
  readonly along: 'lines' | 'row'
  readonly direction?: 'ltr' | 'rtl'
}

/** Where an arrow, Home or End leads among things that stand in a ring; undefined where the key means something else. */
export function ringStep(key: string, { at, count, along, direction = 'ltr' }: Ring): number | undefined {
  if (count === 0) return undefined
  const row = direction === 'ltr' ? ['ArrowLeft', 'ArrowRight'] : ['ArrowRight', 'ArrowLeft']
  const [back, on] = along === 'lines' ? ['ArrowUp', 'ArrowDown'] : row
  switch (key) {
    case on:
      return (at + 1) % count
    case back:
      return at <= 0 ? count - 1 : at - 1
    case 'Home':
      return 0
    case 'End':
      return count - 1
    default:
      return undefined
  }
}
