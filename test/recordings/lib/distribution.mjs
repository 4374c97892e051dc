const PLACES = { min: 0, p10: 0.1, median: 0.5, p90: 0.9, max: 1 }

export const DISTRIBUTION_HEAD = line('charged / true', 'n', Object.keys(PLACES))

/** The line of a table: where the smallest, the tenth, the middle and so on of the values are. */
export function describeDistribution(name, values) {
  const places = Object.values(PLACES).map((share) => placeOf(values, share).toFixed(2))
  return line(name, String(values.length), places)
}

export const middleOf = (values) => placeOf(values, PLACES.median)

export function placeOf(values, share) {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]
}

function line(name, count, places) {
  return [name.padEnd(36), count.padStart(6), ...places.map((place) => place.padStart(8))].join('')
}
