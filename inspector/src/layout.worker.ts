/** The force layout, in a thread of its own so that the page stays responsive. */

import { forceCollide, forceLink, forceManyBody, forceSimulation, forceX, forceY, type SimulationNodeDatum } from 'd3-force'

export interface LayoutNode extends SimulationNodeDatum {
  id: string
  entity: boolean
}
export interface LayoutRequest {
  nodes: LayoutNode[]
  links: { source: string; target: string; weight: number }[]
}

const TICKS = 80

addEventListener('message', ({ data }: MessageEvent<LayoutRequest>) => {
  const { nodes, links } = data
  const simulation = forceSimulation(nodes)
    .force('links', forceLink<LayoutNode, (typeof links)[number]>(links).id((node) => node.id).distance(38).strength((link) => 0.12 + 0.3 * link.weight))
    .force('charge', forceManyBody<LayoutNode>().strength((node) => (node.entity ? -160 : -60)).theta(1.2).distanceMax(400))
    .force('collide', forceCollide<LayoutNode>((node) => (node.entity ? 16 : 8)).strength(0.6))
    .force('x', forceX(0).strength(0.035))
    .force('y', forceY(0).strength(0.035))
    .alphaDecay(1 - 0.001 ** (1 / TICKS))
    .stop()
  simulation.tick(TICKS)
  postMessage(Object.fromEntries(nodes.map((node) => [node.id, { x: node.x!, y: node.y! }])))
})
