/** The line nearest to the points `{ x, y }` (least squares): its slope, and by how much chance may have bent it (one standard error). */
export function fitLine(points) {
  const mean = (of) => points.reduce((sum, point) => sum + of(point), 0) / points.length
  const [x0, y0] = [mean(({ x }) => x), mean(({ y }) => y)]
  const spread = points.reduce((sum, { x }) => sum + (x - x0) ** 2, 0)
  const slope = points.reduce((sum, { x, y }) => sum + (x - x0) * (y - y0), 0) / spread
  const left = points.reduce((sum, { x, y }) => sum + (y - y0 - slope * (x - x0)) ** 2, 0)
  return { slope, error: Math.sqrt(left / Math.max(1, points.length - 2) / spread) }
}
