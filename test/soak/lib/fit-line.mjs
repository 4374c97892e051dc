/** The slope of the line nearest to the points `{ x, y }` (least squares). */
export function slopeOf(points) {
  const mean = (of) => points.reduce((sum, point) => sum + of(point), 0) / points.length
  const [x0, y0] = [mean(({ x }) => x), mean(({ y }) => y)]
  const spread = points.reduce((sum, { x }) => sum + (x - x0) ** 2, 0)
  return points.reduce((sum, { x, y }) => sum + (x - x0) * (y - y0), 0) / spread
}
