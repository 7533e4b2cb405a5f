// The parts of Apache ECharts that the dashboard draws with, and no others: bars, lines, heat maps and
// custom series (error bars, bands), as SVG. Everything else stays out of the bundle.
import * as echarts from "echarts/core";
import { BarChart, CustomChart, HeatmapChart, LineChart } from "echarts/charts";
import { GridComponent, TooltipComponent, VisualMapContinuousComponent } from "echarts/components";
import { SVGRenderer } from "echarts/renderers";

echarts.use([
  BarChart,
  CustomChart,
  GridComponent,
  HeatmapChart,
  LineChart,
  SVGRenderer,
  TooltipComponent,
  VisualMapContinuousComponent,
]);

globalThis.echarts = { init: echarts.init };
