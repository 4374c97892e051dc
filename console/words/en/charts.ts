export const charts = {
  showTable: 'Show as table',
  showChart: 'Show as chart',
  total: 'Total',
  when: 'When',
  legend: 'Series',
  nothing: 'Nothing to draw in this range.',
  keys: 'Arrow keys move from point to point.',
} as const
