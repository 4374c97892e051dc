const STEPS = [1, 2, 2.5, 5, 10]

/** Round values from zero to at least `max`, about `wanted` of them. Counts get no ticks between whole numbers. */
export function niceTicks(max: number, wanted: number, unit: 'whole' | 'any' = 'any'): number[] {
  if (!(max > 0)) return [0]
  const rough = max / Math.max(1, wanted)
  const power = 10 ** Math.floor(Math.log10(rough))
  const nice = (STEPS.find((step) => step * power >= rough) ?? 10) * power
  const step = unit === 'whole' ? Math.max(1, Math.ceil(nice)) : nice
  const count = Math.ceil(max / step - 1e-9)
  return Array.from({ length: count + 1 }, (_, index) => clean(index * step))
}

/** Hides float errors such as 0.1 + 0.2. */
const clean = (value: number): number => Number(value.toPrecision(12))

/** Every n-th label that fits, starting with the first. */
export function labelStride(count: number, width: number, labelWidth: number): number {
  const fits = Math.max(1, Math.floor(width / labelWidth))
  return Math.max(1, Math.ceil(count / fits))
}
