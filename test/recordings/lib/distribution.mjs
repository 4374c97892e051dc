/** The line of a table: where the smallest, the tenth, the middle and so on of the values are. */
export function describeDistribution(name, values) {
  const sorted = [...values].sort((a, b) => a - b)
  const at = (share) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))].toFixed(2).padStart(7)
  const places = [at(0), at(0.1), at(0.5), at(0.9), at(1)]
  return `${name.padEnd(36)}${String(values.length).padStart(6)}${places.join('')}`
}

export const DISTRIBUTION_HEAD = `${'charged / true'.padEnd(36)}${'n'.padStart(6)}${['min', 'p10', 'median', 'p90', 'max'].map((name) => name.padStart(7)).join('')}`
