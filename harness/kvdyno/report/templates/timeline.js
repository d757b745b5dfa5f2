// Puts the chosen point's and column's lines into the one plot of the page.
(function () {
  "use strict";
  const data = JSON.parse(document.getElementById("timeline-data").textContent);
  const point = document.getElementById("timeline-point");
  const column = document.getElementById("timeline-column");

  function show(model) {
    const lines = data[point.value][column.value];
    const { unit, ...columns } = lines;
    model.get_model_by_name("timeline").data = columns;
    model.get_model_by_name("timeline-value").axis_label = unit;
  }

  function start() {
    const model = window.Bokeh && Bokeh.documents[0];
    if (!model || !model.get_model_by_name("timeline")) {
      return window.setTimeout(start, 50);
    }
    point.onchange = column.onchange = () => show(model);
    show(model);
  }
  start();
})();
